import { expect, test } from 'vitest'
import { checksums, notesOf, whyNoImage } from '../../bin/release-parts.ts'

test('release notes contain only the section for the version', () => {
  const changelog = '# Changelog\n\n## 0.2.0 (2026-12-01)\n\nNew.\n\n### Forms\n\n- a\n\n## 0.1.0\n\nFirst.\n'
  expect(notesOf(changelog, '0.2.0')).toBe('# Solhost 0.2.0\n\nNew.\n\n### Forms\n\n- a\n')
  expect(notesOf(changelog, '0.1.0')).toBe('# Solhost 0.1.0\n\nFirst.\n')
  expect(() => notesOf(changelog, '0.3.0')).toThrow('CHANGELOG.md has no section "## 0.3.0"')
})

test('release images: they are built for this machine’s architecture, and for another one only if its emulator is installed', () => {
  const builder = { hasBuildah: true, own: 'x64', canRun: () => false }
  expect(whyNoImage('x64', builder)).toBeNull()
  expect(whyNoImage('arm64', builder)).toBe(
    'this machine is x64, and the emulator qemu-aarch64 is not installed. Install it, or run the release on arm64.',
  )
  expect(whyNoImage('arm64', { ...builder, canRun: (emulator) => emulator === 'qemu-aarch64' })).toBeNull()
  expect(whyNoImage('x64', { ...builder, hasBuildah: false })).toContain('buildah is not installed')
})

test('release checksums: they have the format that sha256sum --check reads', () => {
  expect(checksums([['a.tgz', 'ab12']])).toBe('ab12  a.tgz\n')
})
