/**
 * What has to be ended in any case: Ctrl-C and the like end the process where it stands, and nothing that is awaited then
 * gets its turn. The last one is ended first.
 * @param end does what counts before it awaits anything @returns the function that ends it before
 */
export function endsWithProcess<Ended>(end: () => Ended): () => Ended {
  process.prependOnceListener('exit', end)
  return () => {
    process.off('exit', end)
    return end()
  }
}
