import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take half a minute or more, mostly waiting. If one started last, it would run alone at the end. */
const SLOW = [
  'test/attack/own.parts.test.ts',
  'test/attack/own-loops.parts.test.ts',
  'test/attack/scripts.parts.test.ts',
  'test/runtime/clients/ends.parts.test.ts',
  'test/docs/code-blocks.flow.test.ts',
  'test/container/image.flow.test.ts',
  'test/flows/cli-dev.test.ts',
  'test/flows/client-effects.test.ts',
  'test/flows/draining.test.ts',
]

/**
 * In each project the slow ones, then the others in vitest's order, largest first. A worker ends if the next file
 * belongs to another project.
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
