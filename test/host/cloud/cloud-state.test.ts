import { expect, test } from 'vitest'
import { createCloudStates } from '../../../host/cloud/managed/cloud-state.ts'
import { cloudFindings } from '../../../host/health/cloud-findings.ts'

function statesOf() {
  const logged: string[] = []
  const log = (_of: unknown, text: string) => void logged.push(text)
  const states = createCloudStates('cloud.example.org', { info: log, warn: log, error: log } as never)
  return { states, logged }
}

test('cloud state: each change is logged once; the first contact is not a change', () => {
  const { states, logged } = statesOf()
  expect([states.answers(), states.answers()]).toEqual([true, false])
  expect(logged).toEqual([])
  const away = { kind: 'away', why: 'the control center returned HTTP 503', wait: null } as const
  expect([states.gone(away), states.gone(away)]).toEqual([true, false])
  expect(states.now()).toMatchObject({ state: 'away', why: 'the control center returned HTTP 503' })
  states.gone({ kind: 'away', why: 'ECONNREFUSED', wait: null })
  expect(cloudFindings(states.now())).toEqual([{ key: 'cloud.away', values: ['ECONNREFUSED'] }])
  expect(states.answers()).toBe(true)
  expect(logged).toEqual([expect.stringContaining('is unreachable'), 'the control center responds again'])
})

test('cloud state: if the token is rejected or the URL is wrong, the log says which setting to correct', () => {
  const { states, logged } = statesOf()
  states.gone({ kind: 'barred', status: 401 })
  expect(logged.at(-1)).toContain('REMOTE_ENVIRONMENT_TOKEN')
  states.answers()
  states.gone({ kind: 'barred', status: 403 })
  expect(logged.at(-1)).toMatch(/a proxy or firewall before the control center, denies access \(HTTP 403\)/)
  states.answers()
  states.gone({ kind: 'barred', status: 421 })
  expect(logged.at(-1)).toMatch(/does not serve the host name in CLOUD_URL: add the name to its ALLOWED_HOSTS/)
  states.answers()
  states.gone({ kind: 'barred', status: 404 })
  expect(logged.at(-1)).toMatch(/the server at CLOUD_URL .* \(HTTP 404\): check CLOUD_URL/)
})

test('cloud state: a rejected statement is shown until the next one is accepted', () => {
  const { states, logged } = statesOf()
  expect([states.refused('too old'), states.refused('too old')]).toEqual([true, false])
  expect([states.now().refused, logged.length]).toEqual(['too old', 1])
  states.refused(null)
  expect([states.now().refused, logged.length]).toEqual([null, 1])
})
