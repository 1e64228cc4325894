import { PlatformError } from '../../runtime/errors.ts'

/** Bodies that are on their way, by the bytes that they may have. */
export interface Coming {
  /**
   * Does `work` while so many bytes of an environment count as on their way.
   * @throws ERR_THROTTLED where too much of that environment is, ERR_TELEMETRY_BUSY where too much is at all
   */
  take<T>(environment: string, bytes: number, work: () => Promise<T>): Promise<T>
}

/** In bytes. Whoever has a token can send slowly: what came so far is in memory. */
const MOST_OF_ENVIRONMENT = 24 * 1024 * 1024
const MOST = 128 * 1024 * 1024

export function createComing(): Coming {
  const sizes = new Map<string, number>()
  let all = 0

  function count(environment: string, bytes: number): void {
    all += bytes
    const sum = (sizes.get(environment) ?? 0) + bytes
    if (sum === 0) sizes.delete(environment)
    else sizes.set(environment, sum)
  }

  return {
    async take(environment, bytes, work) {
      if ((sizes.get(environment) ?? 0) + bytes > MOST_OF_ENVIRONMENT) {
        throw new PlatformError('ERR_THROTTLED', 'The environment sends more at the same time than is taken.')
      }
      if (all + bytes > MOST) throw new PlatformError('ERR_TELEMETRY_BUSY', 'More telemetry comes than can be taken.')
      count(environment, bytes)
      try {
        return await work()
      } finally {
        count(environment, -bytes)
      }
    },
  }
}
