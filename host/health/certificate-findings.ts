import type { Finding } from './finding.ts'
import type { HealthReport } from './health-report.ts'

/** Returns the findings about the host's certificate. */
export function certificateFindings(certificate: HealthReport['certificate']): Finding[] {
  if (certificate === null) return []
  const { problem, validFrom, validTo, refused } = certificate
  const at = new Date(problem === 'not-yet-valid' ? validFrom : validTo).toISOString()
  return [
    ...(problem === null ? [] : [{ key: `certificate.${problem}`, values: [at] }]),
    ...(refused === null ? [] : [{ key: 'certificate.refused', values: [refused] }]),
  ]
}
