# Tells in every way what it was given in confidence.
# env: {"TOKEN": "hunter-two-hunter-two"}
# expect: script
env
echo "$TOKEN" >&2
echo "progress 1 $TOKEN" >&4
echo "spawn $TOKEN" >&4
exit 1
