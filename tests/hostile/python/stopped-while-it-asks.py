# Ignores a stop while it waits for answers.
# expect: stopped
# stop: yes
import hero, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    hero.progress(1)
    try:
        hero.spawn({})
    except hero.Refused:
        pass
