package managedledger

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// ants starts two goroutines when it is imported.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}
