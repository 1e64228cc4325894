import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const UNIT = readFileSync(new URL('../../deploy/systemd/solhost.service', import.meta.url), 'utf8')

test('systemd unit: systemd accepts every line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-unit-'))
  try {
    const unit = join(folder, 'solhost.service')
    const program = join(folder, 'solhost')
    mkdirSync(join(folder, 'etc'))
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    // Replaces the program and the user account, which don't exist where the tests run.
    writeFileSync(unit, UNIT.replace('/usr/bin/solhost', program).replace('User=solhost', 'User=root'))
    const options = { encoding: 'utf8', stdio: 'pipe' } as const
    const verify = () =>
      execFileSync('sh', ['-c', `systemd-analyze verify --man=no --recursive-errors=no ${unit} 2>&1; true`], options)
    expect(verify()).toBe('')
    writeFileSync(unit, readFileSync(unit, 'utf8').replace('ProtectSystem=', 'ProtectedSystem='))
    expect(verify()).toContain('ProtectedSystem')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('systemd unit: systemd-analyze rates the service’s exposure as low', () => {
  const folder = mkdtempSync(join(tmpdir(), 'solhost-unit-'))
  try {
    const unit = join(folder, 'solhost.service')
    writeFileSync(unit, UNIT)
    const rated = execFileSync(
      'systemd-analyze',
      ['security', '--offline=yes', '--threshold=100', '--no-pager', unit],
      {
        encoding: 'utf8',
        stdio: 'pipe',
      },
    )
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(rated)?.[1])
    expect(exposure).toBeLessThan(4)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
