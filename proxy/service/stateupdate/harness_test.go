package stateupdate_test

import (
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/proxy/service/servicetest"
	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

func TestMain(m *testing.M) { adaptertest.Main(m, blank.Drop) }

// bench is a bridge without faces, with the helpers of this package's tests.
type bench struct{ *servicetest.Bench }

func setup(t *testing.T, change ...func(*config.Config)) *bench {
	t.Helper()
	return &bench{servicetest.New(t, change...)}
}

func replicas(t *testing.T, n int, change ...func(*config.Config)) (list []*bench) {
	t.Helper()
	for _, b := range servicetest.Replicas(t, n, change...) {
		list = append(list, &bench{b})
	}
	return list
}

func class(err error) mapping.Class { return mapping.Classify(err).Class }
