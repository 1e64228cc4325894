/** Parses server-sent events whose data is one line of JSON. Skips events without data, such as keep-alives. */
export async function* dataOfEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<unknown> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const events = (text + value).split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const line = event.split('\n').find((one) => one.startsWith('data: '))
      if (line !== undefined) yield JSON.parse(line.slice('data: '.length))
    }
  }
}
