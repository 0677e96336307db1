import type { ReactNode } from 'react';

export interface RadioCard {
  value: string;
  title: ReactNode;
  detail?: ReactNode;
  icon?: ReactNode;
  aside?: ReactNode;
}

export interface RadioCardsProps {
  name: string;
  legend: ReactNode;
  cards: RadioCard[];
  value: string;
  onChange: (value: string) => void;
  disabled?: boolean;
}

/** Native radio buttons styled as cards. */
export function RadioCards({ name, legend, cards, value, onChange, disabled }: RadioCardsProps) {
  return (
    <fieldset className="k-cards" disabled={disabled}>
      <legend>{legend}</legend>
      {cards.map((card) => (
        <label key={card.value} className="k-card">
          <input
            type="radio"
            name={name}
            value={card.value}
            checked={card.value === value}
            onChange={() => onChange(card.value)}
          />
          {card.icon && <span className="k-card-icon">{card.icon}</span>}
          <span className="k-card-text">
            <span className="k-card-title">{card.title}</span>
            {card.detail && <span className="k-hint">{card.detail}</span>}
          </span>
          {card.aside && <span className="k-card-aside money">{card.aside}</span>}
        </label>
      ))}
    </fieldset>
  );
}
