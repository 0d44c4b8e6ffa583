package a2a

import (
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
