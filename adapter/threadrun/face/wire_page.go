package face

// page is what every search takes.
type page struct{ limit, offset int }

const maxOffset = 1 << 30

func (o *fields) page(limit int) page {
	return page{o.whole("limit", limit, 1, 1000), o.whole("offset", 0, 0, maxOffset)}
}

func (q *query) page(limit int) page {
	return page{q.whole("limit", limit, 1, 1000), q.whole("offset", 0, 0, maxOffset)}
}
