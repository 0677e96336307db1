import { Fragment } from 'react';

const GROUP = 4;

/** An account address in groups of four for easier comparison. It breaks between groups only; copied text has no gaps. */
export function Address({ of }: { of: string }) {
  const prefix = /^(did:abt:|0x)?/.exec(of)?.[0] ?? '';
  const groups = of.slice(prefix.length).match(new RegExp(`.{1,${GROUP}}`, 'gu')) ?? [];
  let end = prefix.length;
  return (
    <span className="extras-address">
      {prefix && <span>{prefix}</span>}
      {groups.map((group) => {
        end += group.length;
        return (
          <Fragment key={end}>
            <wbr />
            <span>{group}</span>
          </Fragment>
        );
      })}
    </span>
  );
}
