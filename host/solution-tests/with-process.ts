/**
 * Runs `end` when the process exits. A signal such as Ctrl-C stops the process without waiting for pending async work.
 * If several functions are registered, the last one runs first.
 * @param end must do the essential work before its first await
 * @returns a function that runs `end` earlier
 */
export function endsWithProcess<Ended>(end: () => Ended): () => Ended {
  process.prependOnceListener('exit', end)
  return () => {
    process.off('exit', end)
    return end()
  }
}
