package face

import (
	"github.com/apbridge/apbridge/adapter/threadrun/face/request"
	"github.com/apbridge/apbridge/mapping"
)

// The words of sort_by, by what is listed. They stand in the order in which a refusal lists them.
var (
	// state_updated_at is of the SDKs' ThreadSortBy; threads are sorted by one time of change here.
	threadSorts = []request.Sort{
		{Word: "thread_id", By: mapping.SortByID}, {Word: "status", By: mapping.SortByStatus}, {Word: "created_at", By: mapping.SortByCreated},
		{Word: "updated_at", By: mapping.SortByUpdated}, {Word: "state_updated_at", By: mapping.SortByUpdated},
	}
	assistantSorts = []request.Sort{
		{Word: "assistant_id", By: mapping.SortByID}, {Word: "graph_id", By: mapping.SortByAgent}, {Word: "name", By: mapping.SortByName},
		{Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated},
	}
	cronSorts = []request.Sort{
		{Word: "cron_id", By: mapping.SortByID}, {Word: "assistant_id", By: mapping.SortByAssistant}, {Word: "thread_id", By: mapping.SortByThread},
		{Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated}, {Word: "next_run_date", By: mapping.SortByTick},
	}
	itemSorts = []request.Sort{
		{Word: "key", By: mapping.SortByKey}, {Word: "created_at", By: mapping.SortByCreated}, {Word: "updated_at", By: mapping.SortByUpdated},
		{Word: "score", By: mapping.SortByScore},
	}
)
