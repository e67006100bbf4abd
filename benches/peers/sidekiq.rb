# Sidekiq under the same load: `sidekiq -r ./sidekiq.rb` works; sidekiq.rb submit JOBS | bulk JOBS. REDIS_URL names Redis.
require 'json'
require 'sidekiq'

Sidekiq.logger.level = Logger::WARN
# Else Sidekiq 6 writes a line about its own use of the gem for each job, which costs it half its speed.
Redis.silence_deprecations = true if defined?(Redis) && Redis.respond_to?(:silence_deprecations=)

GROUP = 1000 # jobs a call

class Add
  include Sidekiq::Job

  def perform(first, second)
    first + second
  end
end

def submit(jobs)
  jobs.times { Add.perform_async(40, 2) }
end

def bulk(jobs)
  0.step(jobs - 1, GROUP) do |from|
    Sidekiq::Client.push_bulk('class' => Add, 'args' => [[40, 2]] * [GROUP, jobs - from].min)
  end
end

if $PROGRAM_NAME == __FILE__
  mode, jobs = ARGV[0], Integer(ARGV[1])
  abort "#{mode} is no mode" unless %w[submit bulk].include?(mode)
  Sidekiq.redis(&:ping) # Connects.
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  send(mode, jobs)
  puts JSON.generate(per_s: jobs / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun))
end
