// Package itemquery defines the filters and paths of a search for items. Filters match values, and paths select the
// texts of a value to index. Package item of the store, the service, the console and the bridge use it. It does not
// depend on a database. Start reading at ParseFilter and ItemTexts.
package itemquery
