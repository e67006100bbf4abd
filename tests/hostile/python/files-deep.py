# Nests directories deeper than a path may be long.
# expect: finished or limit
import os
for _ in range(3000):
    os.mkdir("directory")
    os.chdir("directory")
open("file", "w").close()
