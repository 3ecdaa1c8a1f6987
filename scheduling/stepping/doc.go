// Package stepping is an executor that a test moves by hand.
//
// Nothing runs until the test steps it, so a test can stand between any two
// tasks: between the start of a read and its completion, with an entry
// confirmed in the middle. Between two steps nothing moves, and one seed is one
// schedule.
//
//	e := stepping.New()
//	lane := e.NewLane("demo")
//	lane.Post(scheduling.KindAdd, add)     // queued
//	e.Go(read)                             // queued too: a store read in flight
//	e.StepLane("demo")                     // the add runs
//	e.StepWork()                           // the read runs
//	e.RunAll()                             // and all that these two have queued
//
// # What may run next
//
// The first task of each lane, and each task of Go: lanes keep their order,
// work has none. [Executor.Step] takes the one that was queued first. After
// [Executor.Seed] it takes one of them at random, the same ones for the same
// seed. [Executor.StepLane], [Executor.StepWork] and [Executor.StepTask] leave
// the choice to the test. A lane whose task is running gives none, so a task
// may itself step other lanes.
//
// # Switches
//
// [scheduling.Lane.Run] queues, which is what it does on a lane that is busy.
// After RunInCaller(true) it runs its task at once if the lane is idle.
// [Executor.Refuse] makes all hand-overs fail, as a full or closed executor
// does.
//
// # Tests with other goroutines
//
// Use it from one goroutine: then each run is the same. Still, tasks may be
// handed over from any goroutine, as a store that completes on its own does.
// For such tests there is [Executor.RunUntil], which waits for tasks; their
// order is then no longer the test's alone.
//
// # What differs from a pool
//
// No clock: tasks are counted by kind, their times stay 0. No bounds: use
// Refuse. A panic goes to the Failed method of its task as on a pool; but if the
// task has none, it goes on to whoever steps, for a test wants to see it.
// Closing a lane runs what is queued on it in the caller of Close.
package stepping
