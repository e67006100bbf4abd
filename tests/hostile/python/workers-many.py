# Starts more processes than a job may have, and waits.
# expect: limit
import subprocess
workers = [subprocess.Popen(["sleep", "1000"]) for _ in range(300)]
for worker in workers:
    worker.wait()
