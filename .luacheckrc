-- The functions of crates/store/src/lua: each file stands in a function of its own behind those before it (crates/store/src/library.rs).
std = 'lua51'
max_line_length = 140
self = false
read_globals = {
  'redis', 'cjson', 'cmsgpack',
  'commands', 'values', 'keys', 'time', 'leases', 'field_counts', 'jobs', 'attempts', 'news', 'layouts', 'ends', 'queues', 'routing', 'relations', 'links', 'cycles', 'index', 'filter',
  'foreign', 'awaited', 'keyed', 'schedules', 'conveyor', 'relatives', 'fair', 'incoming', 'limit', 'masks', 'access', 'flows', 'objects', 'once', 'coordinator', 'calling', 'envelopes', 'messages', 'message_jobs', 'unsent', 'clock_step',
  'functions', 'made_library',
}
globals = { 'request' }
files['crates/store/src/lua/registration.lua'] = { unused = false }
files['crates/store/src/lua/public.lua'] = { unused = false }
