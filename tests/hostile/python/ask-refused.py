# Asks a thousand times for what is no job.
# expect: finished
# gives: 1000
import hero
refused = 0
for number in range(1000):
    try:
        hero.spawn({"script": "1", "caller_id": "root"})
    except hero.Refused:
        refused += 1
hero.result(refused)
