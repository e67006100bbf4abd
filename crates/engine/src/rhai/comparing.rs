//! Functions of Rhai's standard package that compare values, with the same behaviour, but stopped by the end of a
//! script.
//!
//! Reviewed for rhai 1.27.0, like `overrides.rs`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use rhai::{Array, Dynamic, EvalAltResult, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext, Position};
use rust_decimal::Decimal;

use super::native::{Native, failed};
use super::run::Run;

/// The maximum nesting of compared values. Each level takes one or two kilobytes of the stack.
const MAX_DEPTH: usize = 5000;
/// The number of sorting steps between two checks of the script's limits. A comparison is one step, and so are each 64
/// bytes of texts that it may read.
const STEPS_PER_CHECK: usize = 4096;

pub(super) fn add(module: &mut Module, run: &Rc<Run>) {
    sorting(module, run);
    equality(module, run);
}

fn sorting(module: &mut Module, run: &Rc<Run>) {
    for (name, descending) in [("sort", false), ("sort_desc", true)] {
        let run = Rc::clone(run);
        FuncRegistration::new(name).with_purity(false).set_into_module(module, move |items: &mut Array| sort(&run, items, descending));
    }
    for (name, descending) in [("order", false), ("order_desc", true)] {
        let run = Rc::clone(run);
        FuncRegistration::new(name).set_into_module(module, move |items: &mut Array| -> Native<Array> {
            let mut ordered = items.clone();
            sort(&run, &mut ordered, descending)?;
            Ok(ordered)
        });
    }
}

/// Sorts like the standard package: elements of one type, which has an order.
fn sort(run: &Run, items: &mut Array, descending: bool) -> Native<()> {
    if items.len() <= 1 {
        return Ok(());
    }
    let refused = |why: String| Box::new(EvalAltResult::ErrorFunctionNotFound(why, Position::NONE));
    let of_first = items[0].type_id();
    if items.iter().any(|item| item.type_id() != of_first) {
        return Err(refused("elements of different types cannot be sorted".into()));
    }
    if compare(&items[0], &items[0]).is_none() {
        return Err(refused(format!("elements of {} cannot be sorted", items[0].type_name())));
    }
    let (mut steps, mut ended) = (0, None);
    let compared = |one: &Dynamic, other: &Dynamic| {
        if ended.is_some() {
            return Ordering::Equal;
        }
        steps += 1 + length(one).min(length(other)) / 64;
        if steps >= STEPS_PER_CHECK {
            steps = 0;
            ended = run.go_on().err();
        }
        let order = compare(one, other).unwrap_or(Ordering::Equal);
        if descending { order.reverse() } else { order }
    };
    // After the end of a script the order is inconsistent, and the sort may panic.
    let sorted = catch_unwind(AssertUnwindSafe(|| items.sort_by(compared)));
    match (ended, sorted) {
        (Some(ended), _) => Err(ended),
        (None, Ok(())) => Ok(()),
        (None, Err(_)) => Err(Box::new(EvalAltResult::ErrorRuntime("the elements have no order".into(), Position::NONE))),
    }
}

/// The length of a text; other values are short.
fn length(value: &Dynamic) -> usize {
    value.read_lock::<ImmutableString>().map_or(0, |text| text.len())
}

/// The order of two values of one type. `None` if the type has no order.
fn compare(one: &Dynamic, other: &Dynamic) -> Option<Ordering> {
    fn of<T: Ord + Clone + 'static>(one: &Dynamic, other: &Dynamic) -> Option<Ordering> {
        Some(one.read_lock::<T>()?.cmp(&*other.read_lock::<T>()?))
    }
    if one.is_unit() {
        return Some(Ordering::Equal);
    }
    let of_floats = || Some(one.as_float().ok()?.partial_cmp(&other.as_float().ok()?).unwrap_or(Ordering::Equal));
    of::<INT>(one, other)
        .or_else(|| of::<ImmutableString>(one, other))
        .or_else(of_floats)
        .or_else(|| of::<char>(one, other))
        .or_else(|| of::<Decimal>(one, other))
        .or_else(|| of::<bool>(one, other))
}

fn equality(module: &mut Module, run: &Rc<Run>) {
    let depth = Rc::new(Cell::new(0));
    for (name, equal) in [("==", true), ("!=", false)] {
        let (run, level) = (Rc::clone(run), Rc::clone(&depth));
        FuncRegistration::new(name).set_into_module(module, move |context: NativeCallContext, one: &mut Array, mut other: Array| {
            within(&context, &level, || equal_arrays(&context, &run, one, &mut other)).map(|same| same == equal)
        });
        let level = Rc::clone(&depth);
        FuncRegistration::new(name).set_into_module(module, move |context: NativeCallContext, one: &mut Map, mut other: Map| {
            within(&context, &level, || equal_maps(&context, one, &mut other)).map(|same| same == equal)
        });
    }
}

/// Compares values at the next level of nesting.
fn within(context: &NativeCallContext<'_>, depth: &Cell<usize>, compared: impl FnOnce() -> Native<bool>) -> Native<bool> {
    /// Leaves the level, even if a panic ends the comparison.
    struct Up<'d>(&'d Cell<usize>);
    impl Drop for Up<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    if depth.get() >= MAX_DEPTH {
        return Err(failed(context, format!("values that are nested deeper than {MAX_DEPTH} levels cannot be compared")));
    }
    depth.set(depth.get() + 1);
    let _up = Up(depth);
    compared()
}

fn equal_arrays(context: &NativeCallContext<'_>, run: &Run, one: &mut Array, other: &mut Array) -> Native<bool> {
    if one.len() != other.len() {
        return Ok(false);
    }
    for (at, (one, other)) in one.iter_mut().zip(other).enumerate() {
        run.go_on_at(at)?;
        if !equal(context, one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(context: &NativeCallContext<'_>, one: &mut Map, other: &mut Map) -> Native<bool> {
    if one.len() != other.len() {
        return Ok(false);
    }
    for (name, one) in one {
        let Some(other) = other.get_mut(name) else { return Ok(false) };
        if !equal(context, one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two values are equal. Values of different types are not, unless a function compares them.
fn equal(context: &NativeCallContext<'_>, one: &mut Dynamic, other: &mut Dynamic) -> Native<bool> {
    let differ = one.type_id() != other.type_id();
    match context.call_native_fn_raw("==", true, &mut [one, other]) {
        Ok(same) => Ok(same.as_bool().unwrap_or(false)),
        Err(error) if differ && matches!(*error, EvalAltResult::ErrorFunctionNotFound(ref call, _) if call.starts_with("==")) => Ok(false),
        Err(error) => Err(error),
    }
}
