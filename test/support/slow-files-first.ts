import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Test files that take half a minute or more, mostly waiting. They start first. If one of them started last, the whole
 * run would wait for it.
 */
const SLOW = [
  'test/attack/hardened.parts.test.ts',
  'test/attack/hardened-loops.parts.test.ts',
  'test/attack/own.parts.test.ts',
  'test/attack/own-loops.parts.test.ts',
  'test/attack/scripts.parts.test.ts',
  'test/runtime/clients/ends.parts.test.ts',
  'test/docs/code-blocks.flow.test.ts',
  'test/container/image.flow.test.ts',
  'test/package/package.flow.test.ts',
  'test/flows/drafts-try.test.ts',
  'test/flows/cli-dev.test.ts',
  'test/flows/client-effects.test.ts',
  'test/flows/draining.test.ts',
  'test/flows/jobs-outages.test.ts',
  'test/browser/workbench.test.ts',
]

/**
 * Groups the test files by project, because a worker can't be reused for another project's files. Within a project,
 * slow files are first. The others are in vitest's order, largest first.
 */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.some((file) => moduleId.endsWith(file))
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project)
    return [...projects.values()].flatMap((sorted) => [
      ...sorted.filter(isSlow),
      ...sorted.filter((file) => !isSlow(file)),
    ])
  }
}
