// expect: timeout
// why: Temporal computes dates of other calendars in native code, which a script can't interrupt
function onSolutionOpen(arg, queryParams) {
  for (;;) {
    var first = Temporal.PlainDate.from('-271821-12-01').withCalendar('chinese');
    first.until(Temporal.PlainDate.from('+275760-09-12').withCalendar('chinese'), { largestUnit: 'months' });
  }
}
