/**
 * Runs `end` when the process exits: signals such as Ctrl-C end the process without waiting for pending async work. The
 * function that was registered last runs first.
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
