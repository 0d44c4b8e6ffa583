package request

// Page is what every search takes.
type Page struct{ Limit, Offset int }

const maxOffset = 1 << 30

func (o *Fields) Page(limit int) Page {
	return Page{o.Whole("limit", limit, 1, 1000), o.Whole("offset", 0, 0, maxOffset)}
}

func (q *Query) Page(limit int) Page {
	return Page{q.Whole("limit", limit, 1, 1000), q.Whole("offset", 0, 0, maxOffset)}
}
