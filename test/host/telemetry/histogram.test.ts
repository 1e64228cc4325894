import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Histogram } from '../../../host/telemetry/histogram.ts'

function histogramOf(times: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const time of times) histogram.add(time)
  return histogram
}

test('histogram: from a quarter of a millisecond to a minute, a quantile has an error of at most 9.1 %', () => {
  const times = fc.array(fc.double({ min: 0.25, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 1), (given, part) => {
      const exact = given.toSorted((a, b) => a - b)[Math.ceil(part * given.length) - 1] as number
      const told = histogramOf(given).quantile(part) as number
      expect(Math.abs(told / exact - 1)).toBeLessThan(0.091)
    }),
  )
})

test('histogram: an empty histogram has no quantiles', () => {
  expect([new Histogram().quantile(0.5), new Histogram().largest]).toEqual([null, 0])
})

test('histogram: zero and an hour fall into the outermost buckets', () => {
  const histogram = histogramOf([0, 3_600_000])
  expect(histogram.quantile(0.5)).toBeLessThan(0.25)
  expect([histogram.quantile(1), histogram.largest, histogram.count]).toEqual([
    expect.closeTo(71_400, -3),
    3_600_000,
    2,
  ])
})

test('histogram: the sum of two histograms equals a histogram with the values of both', () => {
  const both = histogramOf([1, 2, 3])
  both.addAll(histogramOf([1000]))
  expect([both.count, both.largest, both.quantile(1)]).toEqual([4, 1000, expect.closeTo(939, 0)])
})
