package tables_test

import (
	"testing"

	"github.com/apbridge/apbridge/proxy/store/storetest/blank"
	"github.com/apbridge/apbridge/proxy/store/tables"
)

func TestMain(m *testing.M) {
	tables.CountAtEachRefusal()
	defer blank.Drop()
	m.Run()
}
