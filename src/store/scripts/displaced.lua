#!lua flags=allow-oom
-- Says that this server lives although its actors have lost their posts.
-- ARGV  9 key   10 seconds it lasts
redis.call('SET', ARGV[9], '1', 'EX', ARGV[10])
return 'OK'
