/**
 * Maximum number of solutions that get their own label in metrics. All other solutions share a label, so that the
 * number of metrics is bounded.
 */
const MOST_SOLUTIONS = 50
const OTHERS = 'other'

/**
 * @returns a function that returns a solution's label: its name for the first `most` solutions that this process sees
 */
export function createSolutionLabel(most: number = MOST_SOLUTIONS): (solution: string) => string {
  const known = new Set<string>()
  return (solution) => {
    if (known.has(solution)) return solution
    if (known.size >= most) return OTHERS
    known.add(solution)
    return solution
  }
}
