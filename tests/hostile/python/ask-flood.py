# Says a hundred thousand times how far it is.
# expect: finished
# gives: done
import hero
for at in range(100_000):
    hero.progress(at, "x" * 200)
hero.result("done")
