import type { CloudState } from '../cloud/managed/cloud-state.ts'
import type { Finding } from './finding.ts'

/** Returns the findings about the control center connection. If `cloud` is null, there is no control center. */
export function cloudFindings(cloud: CloudState | null): Finding[] {
  if (cloud === null) return []
  const { state, why, refused, failed } = cloud
  return [
    ...(state === 'barred' ? [{ key: 'cloud.barred', values: [] }] : []),
    ...(state === 'away' ? [{ key: 'cloud.away', values: [why ?? ''] }] : []),
    ...(refused === null ? [] : [{ key: 'cloud.refused', values: [refused] }]),
    ...failed.map(({ name, message }) => {
      return { key: 'cloud.failed', values: [name, message], href: `/admin/solutions/${name}` }
    }),
  ]
}
