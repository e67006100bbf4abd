-- The functions of src/store/lua: each file stands in a function of its own behind those before it (src/store/library.rs).
std = 'lua51'
max_line_length = 140
self = false
read_globals = {
  'redis', 'cjson', 'cmsgpack',
  'commands', 'values', 'keys', 'time', 'leases', 'notes', 'jobs', 'attempts', 'news', 'layouts', 'ends', 'queues', 'routing', 'relations', 'links', 'cycles', 'index', 'filter',
  'foreign', 'awaited', 'schedules', 'conveyor', 'fair', 'incoming', 'limit', 'masks', 'access', 'flows', 'objects', 'once', 'coordinator', 'calling', 'letters', 'messages', 'message_jobs', 'unsent', 'setback',
  'functions', 'made_library',
}
globals = { 'request' }
files['src/store/lua/registration.lua'] = { unused = false }
files['src/store/lua/public.lua'] = { unused = false }
