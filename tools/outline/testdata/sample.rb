=begin
def commented
end
=end
require "json"

module Shop
  LIMIT = 20 # class No

  class Cart < Base
    include Enumerable
    attr_reader :items

    TEXT = <<~END
      def in_text
    END

    def initialize(limit: LIMIT)
      @items = []
      @label = "def no; #{limit}"
    end

    def self.load(path)
      new
    end

    def empty? = @items.empty?

    private

    def <<(item)
      @items << item
    end

    class << self
      def shared
        @shared ||= new
      end
    end
  end

  class Error < StandardError; end
end

def main(argv)
  puts 'class Nope'
end
__END__
def after_the_end
end
