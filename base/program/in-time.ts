/**
 * Waits for `work`, but at most `milliseconds`. The work is not cancelled; if it fails later, its error is ignored.
 * @param late called when the time is over
 * @throws the error that `late` returns
 */
export async function inTime<T>(milliseconds: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), milliseconds)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for `work`, but at most `milliseconds`. The work is not cancelled; if it fails later, its error is ignored.
 * @returns whether the work finished in time
 */
export async function finishesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, milliseconds, false)
  try {
    return await Promise.race([work.then(() => true), promise])
  } finally {
    clearTimeout(timer)
  }
}
