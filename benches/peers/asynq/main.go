// asynq under the same load: asynq PORT worker CONCURRENCY | submit JOBS.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

const (
	inFlight = 64
	kept     = time.Hour // so long the result of a job stays
)

type sum struct{ A, B int }

func work(redis asynq.RedisClientOpt, concurrency int) error {
	add := func(_ context.Context, task *asynq.Task) error {
		var given sum
		if err := json.Unmarshal(task.Payload(), &given); err != nil {
			return err
		}
		_, err := task.ResultWriter().Write([]byte(strconv.Itoa(given.A + given.B)))
		return err
	}
	server := asynq.NewServer(redis, asynq.Config{Concurrency: concurrency, LogLevel: asynq.ErrorLevel})
	mux := asynq.NewServeMux()
	mux.HandleFunc("add", add)
	return server.Run(mux)
}

func submit(redis asynq.RedisClientOpt, jobs int) error {
	client := asynq.NewClient(redis)
	defer client.Close()
	payload, err := json.Marshal(sum{40, 2})
	if err != nil {
		return err
	}
	tickets := make(chan struct{}, jobs)
	for range make([]struct{}, jobs) {
		tickets <- struct{}{}
	}
	close(tickets)
	failures := make(chan error, inFlight)
	var callers sync.WaitGroup
	begun := time.Now()
	for range make([]struct{}, inFlight) {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for range tickets {
				if _, err := client.Enqueue(asynq.NewTask("add", payload), asynq.Retention(kept)); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	callers.Wait()
	wall := time.Since(begun)
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	fmt.Printf("{\"per_s\": %f}\n", float64(jobs)/wall.Seconds())
	return nil
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("asynq PORT worker CONCURRENCY | submit JOBS")
	}
	number, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	redis := asynq.RedisClientOpt{Addr: "127.0.0.1:" + os.Args[1], PoolSize: inFlight}
	switch mode := os.Args[2]; mode {
	case "worker":
		return work(redis, number)
	case "submit":
		return submit(redis, number)
	default:
		return fmt.Errorf("%s is no mode", mode)
	}
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
