# Run with a pool of Python (hero serve --pool python=2):
#   hero run examples/python/children.py
# A job that splits its work: children run after this script has ended, and a continuation then reads their results.
import hero

of_child = "import hero\nhero.result(hero.args ** 2)"
of_continuation = "import hero\nhero.result(sum(hero.inputs[f'part {part}'] for part in (1, 2, 3)))"
ids = []
for part in (1, 2, 3):
    hero.progress(part, f"part {part} of 3")
    key = f"{hero.job_id} {part}"  # Another attempt gets the same children.
    ids.append(hero.spawn(script=of_child, script_type="python", args=part, name=f"part {part}", idempotency_key=key))
hero.result(hero.then(script=of_continuation, script_type="python", name="sum", prerequisites=ids, idempotency_key=hero.job_id))
