# Pretends that it was never started.
# expect: script or unavailable
echo "hero exec: forged" >&2
exit 125
