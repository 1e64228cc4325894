import type { Report } from '../../base/protocol/protocol.ts'
import { PLATFORM_TEXTS } from '../../base/web/texts.ts'
import type { HealthReport } from './health-report.ts'
import { allFindings } from './pages.ts'

const MOST_FINDINGS = 20
const LONGEST = 500

/** Returns the health page's findings as English text, for the control center. */
export function healthInWords(report: HealthReport, isInMaintenance: boolean): Pick<Report, 'health' | 'findings'> {
  const findings = allFindings(report, isInMaintenance)
  const isBad = !report.database.ok || (report.quarantined ?? []).length > 0
  return {
    health: findings.length === 0 ? 'good' : isBad ? 'bad' : 'warning',
    findings: findings
      .slice(0, MOST_FINDINGS)
      .map(({ key, values }) => PLATFORM_TEXTS.text('en', `admin.health.finding.${key}`, values).slice(0, LONGEST)),
  }
}
