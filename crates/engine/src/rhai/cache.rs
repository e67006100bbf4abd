use std::rc::Rc;

use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use rhai::AST;

use super::race::Race;

/// The memory of a compiled script per byte of source, as measured.
const MEMORY_PER_SOURCE_BYTE: u64 = 29;
/// The additional memory of each compiled script, in bytes.
const MEMORY_PER_SCRIPT: u64 = 512;
/// The approximate capacity for all compiled scripts of an engine, in bytes.
const CAPACITY_BYTES: u64 = 16 << 20;
/// The approximate number of scripts for which the cache is made.
const EXPECTED_SCRIPTS: usize = 1024;

/// A compiled script.
pub(super) struct Compiled {
    pub(super) ast: AST,
    /// Whether it may name a constant.
    pub(super) names_constants: bool,
    /// Whether it reads copies of variables.
    pub(super) copies: bool,
    /// The calls in it that fail if they run.
    pub(super) races: Vec<Race>,
}

/// Compiled scripts by their text. The least used are dropped first. The key is the text and not its hash, because an
/// attacker could make hashes collide.
pub(super) struct AstCache(Cache<Box<str>, Rc<Compiled>, BySource>);

#[derive(Clone)]
struct BySource;

impl Weighter<Box<str>, Rc<Compiled>> for BySource {
    fn weight(&self, source: &Box<str>, _: &Rc<Compiled>) -> u64 {
        source.len() as u64 * MEMORY_PER_SOURCE_BYTE + MEMORY_PER_SCRIPT
    }
}

impl AstCache {
    pub(super) fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED_SCRIPTS, CAPACITY_BYTES, BySource))
    }

    pub(super) fn get(&self, source: &str) -> Option<Rc<Compiled>> {
        self.0.get(source).cloned()
    }

    pub(super) fn put(&mut self, source: &str, script: &Rc<Compiled>) {
        self.0.insert(source.into(), Rc::clone(script));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_by_its_text_until_the_cache_is_full() {
        let engine = rhai::Engine::new_raw();
        let mut cache = AstCache::new();
        let ast = Rc::new(Compiled { ast: engine.compile("40").unwrap(), names_constants: false, copies: false, races: Vec::new() });
        cache.put("40", &ast);
        assert!(Rc::ptr_eq(&cache.get("40").unwrap(), &ast));
        assert!(cache.get("41").is_none());
        for n in 0..200 {
            cache.put(&format!("{n}//{}", "x".repeat(30_000)), &ast);
        }
        assert!(cache.0.weight() <= CAPACITY_BYTES);
    }
}
