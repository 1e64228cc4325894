import { z } from '../runtime/zod.ts'
import type { HostApi } from './host-api.ts'
import { refuse } from './refusals.ts'

export type Version = { readonly version: string; readonly sha256: string }

const Known = z.object({
  active: z.string().nullable(),
  versions: z.array(z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), version: z.string() })),
})

/**
 * Returns a solution's active version on a host; null if no version is active.
 * @param isNewAllowed whether to return null if the host does not have the solution
 * @throws CommandError if the host returns an error
 */
export async function readActive(api: HostApi, url: URL, name: string, isNewAllowed = false): Promise<Version | null> {
  const answer = await api.get(`/admin/api/solutions/${encodeURIComponent(name)}`)
  const isUnknown = (answer.body as { code?: unknown } | null)?.code === 'ERR_SOLUTION_NOT_FOUND'
  if (isNewAllowed && answer.status === 404 && isUnknown) return null
  const known = Known.safeParse(answer.body)
  if (answer.status !== 200 || !known.success) refuse(answer, url, name)
  return known.data.versions.find(({ sha256 }) => sha256 === known.data.active) ?? null
}
