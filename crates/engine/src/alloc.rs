//! The global allocator: the system's, with a count of the bytes that each thread has allocated.
//!
//! Rhai has no memory limit of its own. The thread that runs scripts reads [`allocated`] at every operation; other
//! threads pay one thread-local addition per allocation. The count cannot refuse an allocation, because an allocator
//! must not unwind. Checks before a single huge allocation prevent it, and in the end the limit of the address space.
//!
//! If one thread frees memory that another has allocated, the counts of both are wrong. The script thread shares no
//! memory with others, so its count is exact.
//!
//! A text, a blob and an array are each one piece of memory, so pieces longer than any of them may be are noted, too:
//! [`large`]. The alignment distinguishes texts from arrays. Other large pieces, such as the tables of a regular
//! expression, have another alignment, or are made [`apart`].
#![expect(
    unsafe_code,
    reason = "a global allocator can't be written without, nor the system's be asked for what it holds; it only counts and passes on"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rhai::Dynamic;

use super::Limits;
use super::limits::Piece;

/// Pieces above this size are checked. Pieces grow by doubling, so a text within its limit has at most this size.
const LARGE_TEXT: usize = 2 * Limits::TEXT;
/// The same for an array.
const LARGE_ARRAY: usize = 2 * Limits::ARRAY * size_of::<Dynamic>();

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Allocated {
    now: Cell<i64>,
    peak: Cell<i64>,
    /// All bytes ever allocated, freed or not.
    made: Cell<i64>,
    /// The last piece that was too long, until [`forget_large`].
    large: Cell<Option<Piece>>,
    /// The maximum size of a text and of an array, in bytes.
    most: Cell<(usize, usize)>,
}

thread_local! {
    // Const and without a destructor: it needs no lazy initialisation, which would allocate, and is still there while a
    // thread ends.
    static ALLOCATED: Allocated = const { Allocated { now: Cell::new(0), peak: Cell::new(0), made: Cell::new(0), large: Cell::new(None), most: Cell::new((LARGE_TEXT, LARGE_ARRAY)) } };
}

/// Adds to the count of this thread. It uses `try_with`, because an allocator must never panic.
#[inline]
fn count(bytes: i64) {
    let _ = ALLOCATED.try_with(|allocated| {
        let now = allocated.now.get() + bytes;
        allocated.now.set(now);
        allocated.made.set(allocated.made.get().wrapping_add(bytes.max(0)));
        if now > allocated.peak.get() {
            allocated.peak.set(now);
        }
    });
}

/// Notes a piece that is longer than a text or an array may be.
#[inline]
fn look_at(size: usize, align: usize) {
    if size > LARGE_TEXT {
        note(size, align);
    }
}

#[cold]
fn note(size: usize, align: usize) {
    let _ = ALLOCATED.try_with(|allocated| {
        let (text, array) = allocated.most.get();
        match align {
            // Rhai aligns its own texts to 2.
            1 | 2 if size > text => allocated.large.set(Some(Piece::Text)),
            _ if align == align_of::<Dynamic>() && size > array => allocated.large.set(Some(Piece::Array)),
            _ => {}
        }
    });
}

/// A size as a signed number. Rust allocates at most `isize::MAX` bytes at once, so it always fits.
#[inline]
fn signed(bytes: usize) -> i64 {
    bytes as i64
}

/// The number of bytes that this thread has allocated and not freed. Negative if it freed memory of other threads.
#[inline]
pub(super) fn allocated() -> i64 {
    ALLOCATED.with(|allocated| allocated.now.get())
}

/// The number of bytes that this thread has ever allocated, freed or not. The number may wrap.
#[inline]
pub(super) fn made() -> i64 {
    ALLOCATED.with(|allocated| allocated.made.get())
}

/// Returns [`allocated`] and [`made`] with one access, for checks at each operation.
#[inline]
pub(super) fn allocated_and_made() -> (i64, i64) {
    ALLOCATED.with(|allocated| (allocated.now.get(), allocated.made.get()))
}

/// The maximum of [`allocated`] since [`restart_peak`].
pub(super) fn peak() -> i64 {
    ALLOCATED.with(|allocated| allocated.peak.get())
}

/// Returns the kind of value that was too long since [`forget_large`], if any.
pub(super) fn large() -> Option<Piece> {
    ALLOCATED.with(|allocated| allocated.large.get())
}

/// Forgets the value that was too long, and the larger sizes of [`allow_for`].
pub(super) fn forget_large() {
    ALLOCATED.with(|allocated| {
        allocated.large.set(None);
        allocated.most.set((LARGE_TEXT, LARGE_ARRAY));
    });
}

/// Allows pieces as long as a JSON of this size can need: a script may copy its input.
pub(super) fn allow_for(json: usize) {
    // An element has at least one byte and a comma.
    let elements = json / 2 + 1;
    ALLOCATED.with(|allocated| {
        let (text, array) = allocated.most.get();
        allocated.most.set((text.max(json), array.max(elements.saturating_mul(size_of::<Dynamic>()))));
    });
}

/// Runs work that needs long pieces which are no values of the script.
pub(super) fn apart<T>(work: impl FnOnce() -> T) -> T {
    let before = large();
    let done = work();
    ALLOCATED.with(|allocated| allocated.large.set(before));
    done
}

/// Sets the peak to the current number of allocated bytes.
pub(super) fn restart_peak() {
    ALLOCATED.with(|allocated| allocated.peak.set(allocated.now.get()));
}

/// Returns unused memory of the allocator to the system, if whole pages are free. Takes a millisecond for each few
/// megabytes and blocks other allocations meanwhile, so it is for idle times.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called by any thread at any time; it takes the locks of the allocator and only
    // touches free memory.
    unsafe {
        libc::malloc_trim(0);
    }
}

// SAFETY: every method passes its arguments to `System` unchanged and returns what `System` returned, so `System` keeps the
// contract; counting touches only this thread's cells and neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        look_at(layout.size(), layout.align());
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(signed(layout.size()));
        look_at(layout.size(), layout.align());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is that of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-signed(layout.size()));
        // SAFETY: the pointer came from a method of this type, so from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(signed(new_size) - signed(layout.size()));
        look_at(new_size, layout.align());
        // SAFETY: the pointer came from a method of this type, so from `System`, with this layout; the caller vouches for the size.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_what_it_holds() {
        let (before, made_before) = (allocated(), made());
        let mut block = vec![0_u8; 1 << 20];
        assert_eq!(allocated() - before, 1 << 20);
        block.reserve_exact(1 << 21);
        restart_peak();
        drop(block);
        assert_eq!(allocated(), before);
        assert!(peak() - before >= 3 << 20);
        assert_eq!(made() - made_before, 3 << 20);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(allocated() < 1 << 20)).join().unwrap();
        });
    }

    #[test]
    fn a_text_or_an_array_that_is_too_long_is_noted_and_nothing_else() {
        forget_large();
        let text = |length| (Vec::<u8>::with_capacity(length), Vec::<u16>::with_capacity(length / 2));
        let array = |length| rhai::Array::with_capacity(length);
        drop((text(LARGE_TEXT), array(2 * Limits::ARRAY), Vec::<u32>::with_capacity(LARGE_ARRAY)));
        apart(|| drop((text(LARGE_TEXT + 2), array(2 * Limits::ARRAY + 1))));
        assert_eq!(large(), None);
        drop(text(LARGE_TEXT + 2));
        assert_eq!(large(), Some(Piece::Text));
        drop(array(2 * Limits::ARRAY + 1));
        apart(forget_large);
        assert_eq!(large(), Some(Piece::Array));
        forget_large();
        allow_for(4 * LARGE_TEXT);
        drop((text(4 * LARGE_TEXT), array(2 * LARGE_TEXT)));
        assert_eq!(large(), None);
        drop(array(2 * LARGE_TEXT + 2));
        assert_eq!(large(), Some(Piece::Array));
        forget_large();
        let mut growing = rhai::ImmutableString::from("x".repeat(Limits::TEXT));
        assert_eq!(large(), None);
        while growing.len() <= LARGE_TEXT {
            growing += "123";
        }
        assert_eq!(large(), Some(Piece::Text));
    }
}
