# Run with a pool of Python (hero serve --pool python=2):
#   hero run --args '{"numbers": [1, 2, 3]}' examples/python/mean.py
import statistics

import hero

numbers = hero.args.get("numbers", [])
if not numbers:
    raise ValueError("there are no numbers to take the mean of")
for number in numbers:
    print(f"number: {number}")  # A line of the log.
if len(numbers) < 3:
    hero.log("these are few", level="warn")
hero.result({"mean": statistics.fmean(numbers)})
