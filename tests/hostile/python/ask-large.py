# Asks for a child of three megabytes.
# expect: script
# says: Refused: a host call has 2 MB at most
import hero
hero.spawn(script="x" * 3_000_000)
