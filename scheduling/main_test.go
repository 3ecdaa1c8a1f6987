package scheduling

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that were left behind. ants starts two of its
// own when it is imported.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}
