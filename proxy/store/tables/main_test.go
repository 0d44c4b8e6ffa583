package tables_test

import (
	"testing"

	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
)

func TestMain(m *testing.M) {
	defer blank.Drop()
	m.Run()
}
