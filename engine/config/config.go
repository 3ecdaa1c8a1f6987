package config

import (
	"time"

	"github.com/tidemark-engine/tidemark/engine/quantity"
)

// Size is a number of bytes, written with its unit: 64MiB.
type Size int64

// Config is all that an operator chooses for one daemon. Tags of a field:
//
//	key    its name in files; sections join with dots, as in log.level
//	doc    what it means, for the example file and the schema
//	live   true if a reload puts a change into force; otherwise a restart does
//	min    the smallest and
//	max    the largest value, as people write it
//	check  required, address (HOST:PORT), directory or file; with commas
//	oneof  the values to choose from, with commas
type Config struct {
	DataDir     string      `key:"data-dir" check:"required,directory" doc:"The directory where everything lives. One daemon at a time; made if it is not there."`
	Log         Log         `key:"log" doc:"What the daemon says about itself, on standard error."`
	Server      Server      `key:"server" doc:"Where and how the daemon serves."`
	Shutdown    Shutdown    `key:"shutdown" doc:"How long each step of stopping may take. What is not done then is reported and given up."`
	Store       Store       `key:"store" doc:"Where the bytes live."`
	Scheduler   Scheduler   `key:"scheduler" doc:"The goroutines that do the work."`
	Topics      Topics      `key:"topics" doc:"Settings of topics. Each topic may override them: engine topic set NAME key=value."`
	Cache       Cache       `key:"cache" doc:"Recent entries in memory, for all topics together, and the limit on reads of the store."`
	Limits      Limits      `key:"limits" doc:"Bounds on what one daemon takes on."`
	Maintenance Maintenance `key:"maintenance" doc:"Work that is done from time to time: rolling and removing ledgers by age, expiring the cache."`
}

// Log is the section log.
type Log struct {
	Level  string `key:"level" oneof:"debug,info,warn,error" live:"true" doc:"The least severe level that is written."`
	Format string `key:"format" oneof:"text,json" doc:"One line of text, or one JSON object, for each record."`
}

// Server is the section server.
type Server struct {
	GRPCAddress    string        `key:"grpc-address" check:"required,address" doc:"Where gRPC is served: HOST:PORT; port 0 picks a free one. There is no authentication: listen to others only in a network that you trust."`
	HTTPAddress    string        `key:"http-address" check:"address" doc:"Where HTTP is served: the API as JSON, /metrics, /livez, /readyz. HOST:PORT as above; empty turns it off."`
	ReadyFile      string        `key:"ready-file" check:"file" doc:"A file to write, as one JSON object, the addresses in use to once the daemon is ready. Removed at the end. Empty: none."`
	MaxMessageSize Size          `key:"max-message-size" min:"64KiB" max:"1GiB" doc:"The largest gRPC message that is taken. It must be larger than topics.max-entry-size, so that what was taken can be read back."`
	FrameSize      Size          `key:"frame-size" min:"1KiB" max:"256MiB" doc:"How many bytes of entries a frame of a read stream holds about at most. A single entry may exceed it."`
	StreamSize     Size          `key:"stream-size" min:"64KiB" max:"16GiB" doc:"Bytes of one produce stream that may wait for an answer. Beyond, the server stops receiving from that stream."`
	MaxStreams     int64         `key:"max-streams" min:"1" max:"1000000000" doc:"Streams that one connection may have open."`
	Heartbeat      time.Duration `key:"heartbeat" min:"1s" max:"1h" doc:"How often a reader with nothing to read hears where the head is."`
	Reflection     bool          `key:"reflection" doc:"Let gRPC clients ask for the schema."`
	StartTimeout   time.Duration `key:"start-timeout" min:"1s" max:"24h" doc:"How long opening the store and the listeners may take. Recovery after a crash is part of it."`
}

// Shutdown is the section shutdown.
type Shutdown struct {
	Streams time.Duration `key:"streams" min:"100ms" max:"10m" doc:"For telling open streams where to go on and for answering calls that are under way."`
	Engine  time.Duration `key:"engine" min:"100ms" max:"10m" doc:"For finishing the adds, reads and acknowledgements under way, and closing topics."`
	Store   time.Duration `key:"store" min:"100ms" max:"10m" doc:"For flushing and closing the store."`
}

// Store is the section store.
type Store struct {
	Kind                  string `key:"kind" oneof:"pebble,memory" doc:"pebble keeps entries in data-dir. memory keeps nothing: for tests and measurements."`
	AcknowledgeBeforeSync bool   `key:"acknowledge-before-sync" doc:"Acknowledge entries before they are on stable storage. Faster, and a power failure loses what was acknowledged last."`
	CacheSize             Size   `key:"cache-size" min:"1MiB" max:"1TiB" doc:"Memory for blocks read from the pebble store."`
	MemtableSize          Size   `key:"memtable-size" min:"1MiB" max:"4GiB" doc:"Memory of the pebble store for what is not yet in sorted files. It takes up to four times that."`
	MaxPendingSize        Size   `key:"max-pending-size" min:"1MiB" max:"1TiB" doc:"Bytes of all topics together that may wait for the pebble store. What comes beyond is refused as busy."`
	ReserveSize           Size   `key:"reserve-size" max:"1TiB" doc:"Room on the disk that is kept free: with less, adds are refused until there is more. 0: none; a full disk is then harder to recover from."`
}

// Scheduler is the section scheduler.
type Scheduler struct {
	Drainers          int64 `key:"drainers" min:"0" max:"100000" doc:"Goroutines that run the short tasks of topics, which never block. 0: one for each processor."`
	Workers           int64 `key:"workers" min:"1" max:"100000" doc:"Calls that may block, such as reads of the store, that run at a time."`
	MaxWaitingPerLane int64 `key:"max-waiting-per-lane" min:"1" max:"1000000000" doc:"Tasks of one lane that may wait. What comes beyond is refused as busy."`
	MaxWaiting        int64 `key:"max-waiting" min:"1" max:"1000000000" doc:"Tasks that may wait, all lanes together."`
	MaxQueuedWork     int64 `key:"max-queued-work" min:"0" max:"1000000000" doc:"Calls that may wait for one of the workers."`
	ProfileLabels     bool  `key:"profile-labels" doc:"Mark CPU profiles with lane and kind of task. It costs a little."`
}

// Topics is the section topics. Its keys are also those of a topic's overrides.
type Topics struct {
	MaxEntriesPerLedger int64         `key:"max-entries-per-ledger" min:"0" live:"true" doc:"A ledger with this many entries is closed and the next one begun. 0: no such limit."`
	MaxSizePerLedger    Size          `key:"max-size-per-ledger" live:"true" doc:"A ledger with this many bytes is closed and the next one begun. 0: no such limit."`
	MaxLedgerAge        time.Duration `key:"max-ledger-age" live:"true" doc:"A ledger that has entries and is this old is closed and the next one begun. 0: no such limit."`
	MinLedgerAge        time.Duration `key:"min-ledger-age" live:"true" doc:"A younger ledger goes on, whatever its size."`
	RetentionSize       Size          `key:"retention-size" min:"unlimited" live:"true" doc:"Ledgers that every durable cursor has passed go when what is left has at least this size. 0 with retention-time 0: they go at once. unlimited: no ledger goes for its size."`
	RetentionTime       time.Duration `key:"retention-time" min:"unlimited" live:"true" doc:"Ledgers that every durable cursor has passed go when they were closed this long ago. unlimited: no ledger goes for its age."`
	MaxEntrySize        Size          `key:"max-entry-size" min:"1B" max:"512MiB" live:"true" doc:"The largest entry that is taken: a message with its key, attributes and a few bytes of encoding."`
	MaxPendingEntries   int64         `key:"max-pending-entries" min:"1" max:"100000000" live:"true" doc:"Entries of one topic that may wait to be acknowledged. Beyond, producers wait."`
	MaxPendingSize      Size          `key:"max-pending-size" min:"1B" live:"true" doc:"Bytes of one topic that may wait to be acknowledged. Beyond, producers wait."`
	ReadPolicy          string        `key:"read-policy" check:"required" live:"true" doc:"When a read is complete: complete-at-lac hands over what is there, extend-on-executor goes on until it has what was asked."`
	Submission          string        `key:"submission" check:"required" live:"true" doc:"Where a read of the store is started: direct by who asks, ordered-executor on the lane of the topic."`
	Placement           string        `key:"placement" check:"required" live:"true" doc:"Where a finished read is handed over: inline on the goroutine that finished it, on-executor on the lane of the topic."`
	MaxAckRanges        int64         `key:"max-ack-ranges" min:"1" max:"100000000" live:"true" doc:"Ranges of singly acknowledged entries that a durable cursor stores. Entries beyond come again after a restart."`
	SkipLostLedgers     bool          `key:"skip-lost-ledgers" live:"true" doc:"Let readers jump over a ledger that the store has lost, instead of failing."`
}

// Cache is the section cache.
type Cache struct {
	Size             Size          `key:"size" live:"true" max:"1TiB" doc:"Memory for recent entries. 0 turns the cache off."`
	TTL              time.Duration `key:"ttl" min:"1ms" live:"true" doc:"How long an entry stays at most."`
	Watermark        float64       `key:"watermark" min:"0.01" max:"1" live:"true" doc:"When the cache is full, entries go, the oldest first, until this share of its size is left."`
	MaxReadsInFlight Size          `key:"max-reads-in-flight" live:"true" max:"1TiB" doc:"Bytes that reads of the store may have under way. Beyond, reads wait. 0: no such limit."`
	MaxWaitingReads  int64         `key:"max-waiting-reads" min:"0" max:"10000000" live:"true" doc:"Reads that may wait for that. Beyond, reads fail as busy."`
}

// Limits is the section limits.
type Limits struct {
	MaxTopics            int64 `key:"max-topics" min:"1" max:"10000000" live:"true" doc:"Topics that may exist."`
	MaxProducersPerTopic int64 `key:"max-producers-per-topic" min:"1" max:"10000000" live:"true" doc:"Named producers whose last sequence id a topic remembers. Beyond, the one that was silent longest is forgotten."`
	ProducerSnapshot     int64 `key:"producer-snapshot" min:"1" max:"1000000000" live:"true" doc:"What is known of named producers is stored anew after this many of their entries. It bounds what a recovery reads."`
}

// Maintenance is the section maintenance.
type Maintenance struct {
	Interval time.Duration `key:"interval" min:"10ms" max:"1h" live:"true" doc:"How often each topic is looked at."`
}

// Default returns the configuration of which nothing was said.
func Default() Config {
	return Config{
		DataDir: "./data",
		Log:     Log{Level: "info", Format: "text"},
		Server: Server{
			GRPCAddress:    "127.0.0.1:7420",
			HTTPAddress:    "127.0.0.1:7421",
			MaxMessageSize: 16 << 20,
			FrameSize:      1 << 20,
			StreamSize:     32 << 20,
			MaxStreams:     10_000,
			Heartbeat:      10 * time.Second,
			Reflection:     true,
			StartTimeout:   5 * time.Minute,
		},
		Shutdown: Shutdown{Streams: 5 * time.Second, Engine: 15 * time.Second, Store: 10 * time.Second},
		Store:    Store{Kind: "pebble", CacheSize: 128 << 20, MemtableSize: 64 << 20, MaxPendingSize: 256 << 20, ReserveSize: 64 << 20},
		Scheduler: Scheduler{
			Workers:           128,
			MaxWaitingPerLane: 1 << 17,
			MaxWaiting:        1 << 21,
			MaxQueuedWork:     1 << 16,
		},
		Topics: Topics{
			MaxEntriesPerLedger: 50_000,
			MaxSizePerLedger:    2 << 30,
			MaxLedgerAge:        4 * time.Hour,
			RetentionSize:       quantity.Unlimited,
			RetentionTime:       quantity.Unlimited,
			MaxEntrySize:        5 << 20,
			MaxPendingEntries:   100_000,
			MaxPendingSize:      64 << 20,
			ReadPolicy:          "complete-at-lac",
			Submission:          "direct",
			Placement:           "inline",
			MaxAckRanges:        10_000,
		},
		Cache:       Cache{Size: 256 << 20, TTL: 10 * time.Second, Watermark: 0.9, MaxReadsInFlight: 128 << 20, MaxWaitingReads: 10_000},
		Limits:      Limits{MaxTopics: 100_000, MaxProducersPerTopic: 10_000, ProducerSnapshot: 100_000},
		Maintenance: Maintenance{Interval: time.Second},
	}
}
