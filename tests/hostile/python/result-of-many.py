# Gives a hundred thousand results.
# expect: finished
# gives: 99999
import hero
for number in range(100_000):
    hero.result(number)
