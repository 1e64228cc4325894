import { expect, test } from 'vitest'
import { certificateFindings } from '../../../host/health/certificate-findings.ts'

const WELL = { names: 'DNS:localhost', validFrom: 0, validTo: 86_400_000, problem: null, refused: null } as const

test('health: a valid certificate, or none, is not a finding', () => {
  expect([certificateFindings(null), certificateFindings(WELL)]).toEqual([[], []])
})

test('health: a certificate problem is reported with its date, and with the reason why a new file is not used', () => {
  const problems = (['expired', 'expires-soon', 'not-yet-valid'] as const).flatMap((problem) =>
    certificateFindings({ ...WELL, problem }),
  )
  expect(problems).toEqual([
    { key: 'certificate.expired', values: ['1970-01-02T00:00:00.000Z'] },
    { key: 'certificate.expires-soon', values: ['1970-01-02T00:00:00.000Z'] },
    { key: 'certificate.not-yet-valid', values: ['1970-01-01T00:00:00.000Z'] },
  ])
  const refused = certificateFindings({ ...WELL, refused: 'the file is empty' })
  expect(refused).toEqual([{ key: 'certificate.refused', values: ['the file is empty'] }])
})
