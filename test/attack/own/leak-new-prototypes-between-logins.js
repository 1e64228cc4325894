// expect: contained
// calls: 3
// why: what one login writes to the prototypes of new built-in classes, no other login may read
function onSolutionOpen(arg, queryParams) {
  var classes = [Iterator, Temporal.PlainDate, Temporal.Duration, DisposableStack, SuppressedError, Float16Array, Intl.DurationFormat];
  var places = classes.concat(classes.map(function (one) { return one.prototype; }), [Temporal, Temporal.Now, Intl, [].values().map(String).__proto__]);
  var found = places.filter(function (place) { return place.mark !== undefined; }).length;
  places.forEach(function (place) { try { place.mark = queryParams.username; } catch (error) {} });
  return JSON.stringify({ escaped: found > 0, found: found });
}
